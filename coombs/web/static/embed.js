// Puts a study's question into a page of yours: <div data-coombs="https://taste.example.org/a/TOKEN"></div>.
// The element hears "coombs:answer" and "coombs:done" (detail.redirect: where the study sends people, or null;
// the frame never goes there by itself); window.coombs.embed(element) does the same later.
"use strict";

(() => {
  const HIGHEST = 20000;
  const shown = [];

  function embed(place) {
    const address = new URL(place.dataset.coombs, document.baseURI);
    if (!["https:", "http:"].includes(address.protocol) || shown.some((one) => one.place === place)) return;
    const frame = document.createElement("iframe");
    frame.title = place.dataset.title || "Which do you prefer?";
    Object.assign(frame.style, { width: "100%", height: "40em", border: "0", display: "block" });
    // Every page in the frame is greeted anew, and by that knows whom to tell.
    frame.addEventListener("load", () => frame.contentWindow.postMessage({ coombs: "hello" }, address.origin));
    frame.src = address.href;
    shown.push({ place, frame, origin: address.origin });
    place.replaceChildren(frame);
  }

  window.addEventListener("message", (event) => {
    const one = shown.find(({ frame, origin }) => event.source === frame.contentWindow && event.origin === origin);
    const { coombs, height, answers, redirect } = (one && event.data) || {};
    if (coombs === "height" && height > 0) one.frame.style.height = `${Math.min(Math.ceil(height), HIGHEST)}px`;
    if (coombs === "answer" || coombs === "done") {
      const onward = /^https?:/.test(redirect || "") ? redirect : null;
      const detail = coombs === "done" ? { answers, redirect: onward } : { answers };
      one.place.dispatchEvent(new CustomEvent(`coombs:${coombs}`, { bubbles: true, detail }));
    }
  });

  const all = () => document.querySelectorAll("[data-coombs]").forEach(embed);
  window.coombs = { embed };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", all);
  else all();
})();
