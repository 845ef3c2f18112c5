# Wraps servers inside a container: docker run -i --rm -v rearview:/state mcp-rearview wrap -- COMMAND ARG...
# The wrapped command must be in the image; build one FROM this and add yours.
FROM python:3.11-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY proxy proxy
COPY interceptors interceptors
RUN python -m venv /opt/rearview && /opt/rearview/bin/pip install --no-cache-dir .

FROM python:3.11-slim
RUN useradd --uid 10001 --create-home rearview && install -d -m 700 -o rearview -g rearview /state
COPY --from=build /opt/rearview /opt/rearview
ENV PATH=/opt/rearview/bin:$PATH REARVIEW_STATE_DIR=/state
USER rearview
VOLUME /state
ENTRYPOINT ["mcp-rearview"]
CMD ["--help"]
