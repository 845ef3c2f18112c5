# The relay as an image. docs/container.md says how to run it; deploy/check-container builds and tries it.
#
#   docker build -t mcp-rearview .
#   docker run -p 127.0.0.1:8080:8080 -v rearview:/var/lib/rearview mcp-rearview serve --listen 0.0.0.0:8080 --upstream URL
ARG BASE=python:3.13-slim-trixie

FROM ${BASE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /source
# The build backend is pinned here, because requirements.lock is about what is installed.
RUN python -m venv /tools && /tools/bin/pip install --quiet hatchling==1.33.0 \
    && python -m venv --without-pip /opt/rearview

# What the project needs comes first: it changes less often than the project.
COPY pyproject.toml requirements.lock ./
COPY deploy/image/runtime_lock.py ./
RUN /tools/bin/python runtime_lock.py pyproject.toml requirements.lock > runtime.lock \
    && /tools/bin/pip --python /opt/rearview/bin/python install --quiet --no-deps --no-compile \
        --require-hashes --only-binary=:all: --requirement runtime.lock

COPY README.md LICENSE ./
COPY proxy proxy
COPY interceptors interceptors
RUN /tools/bin/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir wheel . \
    && /tools/bin/pip --python /opt/rearview/bin/python install --quiet --no-deps --no-compile --no-index wheel/*.whl \
    && /tools/bin/pip --python /opt/rearview/bin/python check

# Nothing writes bytecode later: not the user, who may not, and not a container with a read-only root. It is compiled
# here, and never checked against the time of its source. Left out is what only a test or a compiler reads.
RUN rm -rf /opt/rearview/lib/python*/site-packages/sqlalchemy/testing \
    && find /opt/rearview/lib -name '*.py[xi]' -delete -o -name '*.pxd' -delete \
    && python -m compileall -q --invalidation-mode unchecked-hash /opt/rearview/lib
COPY deploy/image/healthcheck.py /opt/rearview/bin/

FROM ${BASE}
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="mcp-rearview" \
      org.opencontainers.image.description="A relay between MCP clients and servers that learns which tool calls fail" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

# The image of Python comes without bytecode of the standard library. The state lies one folder below the volume, because
# a volume may belong to somebody else, or hold a `lost+found`, and the state folder has to be this user's alone.
RUN groupadd --gid 10001 rearview \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin rearview \
    && install -d -m 0700 -o rearview -g rearview /var/lib/rearview \
    && python -m compileall -q --invalidation-mode unchecked-hash \
        -x '/(site-packages|dist-packages|ensurepip|idlelib|lib2to3|pydoc_data|test|tests|tkinter|turtledemo)/' \
        "$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"
COPY --from=build /opt/rearview /opt/rearview

ENV PATH=/opt/rearview/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    REARVIEW_STATE_DIR=/var/lib/rearview/state
USER 10001:10001
VOLUME /var/lib/rearview
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=10s --retries=3 \
    CMD ["python", "-I", "/opt/rearview/bin/healthcheck.py"]
ENTRYPOINT ["mcp-rearview"]
CMD ["--help"]
