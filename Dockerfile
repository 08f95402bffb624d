# The page as a service; compose.yaml has it beside PostgreSQL, docs/operations.md says how it is set.
FROM python:3.11-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY coombs coombs
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir -c constraints.txt ".[web,postgres,excel]"

FROM python:3.11-slim
RUN useradd --system --uid 10001 --home-dir /data --create-home coombs
COPY --from=build /venv /venv
COPY deploy/start.sh /usr/local/bin/coombs-start
ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    COOMBS_STORAGE=sqlite:////data/coombs.db
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/ready', timeout=5)"]
ENTRYPOINT ["sh", "/usr/local/bin/coombs-start"]
