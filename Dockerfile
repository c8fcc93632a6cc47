# A gateway, a tool server, or any other command of toolwire.
#
#   docker build --build-arg COMMIT=$(git rev-parse HEAD) -t toolwire .
#   docker run --rm --read-only --tmpfs /tmp -v ./gateway.toml:/config/gateway.toml:ro -v ./keys.toml:/config/keys.toml:ro -p 8080:8080 toolwire
FROM python:3.13-slim AS build
WORKDIR /source
COPY . .
ARG COMMIT=""
RUN if [ -n "$COMMIT" ]; then echo "$COMMIT" > COMMIT; fi
RUN python -m venv /opt/toolwire && /opt/toolwire/bin/pip install --no-cache-dir '.[all]'

FROM python:3.13-slim
COPY --from=build /opt/toolwire /opt/toolwire
RUN useradd --uid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin toolwire
ENV PATH=/opt/toolwire/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /config
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=15s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/health', timeout=2)"]
ENTRYPOINT ["toolwire"]
CMD ["gateway", "/config/gateway.toml", "--host", "0.0.0.0", "--port", "8080"]
