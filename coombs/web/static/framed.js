// A respondent's page in a frame of another site: tells that site how high it is, and that something was
// answered. It speaks only to a page of an allowed origin that has greeted it.
"use strict";

(() => {
  const onward = document.getElementById("onward");
  const allowed = document.body.dataset.embed.split(" ");
  let host = null;
  let height = 0;
  let answers = null;
  let done = false;

  const tell = (message) => { if (host) window.parent.postMessage(message, host); };

  function look() {
    const mark = document.querySelector("[data-answers]");
    const now = mark && Number(mark.dataset.answers);
    if (mark && answers !== null && now > answers) tell({ coombs: "answer", answers: now });
    if (mark) answers = now;
    if (host && !done && document.querySelector("[data-done]")) {
      done = true;
      tell({ coombs: "done", answers, redirect: onward ? onward.href : null });
    }
  }

  function measure() {
    const main = document.getElementById("main");
    const now = Math.ceil(main.getBoundingClientRect().height);
    if (now !== height) tell({ coombs: "height", height: now });
    height = host ? now : 0;
  }

  if (window.parent === window) {
    // Only a page that is in no frame goes on by itself: in a frame the address would replace the question
    // there, so that the site around it is told, and the person has the link, which opens in the whole window.
    if (onward && "atOnce" in onward.dataset) window.location.replace(onward.href);
    return;
  }
  window.addEventListener("message", (event) => {
    const known = event.source === window.parent && allowed.includes(event.origin);
    if (!known || !event.data || event.data.coombs !== "hello") return;
    host = event.origin;
    document.documentElement.classList.add("embedded");
    measure();
    look();
  });
  new ResizeObserver(measure).observe(document.getElementById("main"));
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
  look();
})();
