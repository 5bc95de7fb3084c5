# The digest of the image's index, for all processors; anew: docker buildx imagetools inspect python:3.12-slim
FROM python:3.12.14-slim@sha256:e5c9fa26ffb76e11e0f054f30dc2523a2f9693f0c36c0cf1e39b27e152d899fc

# libfribidi for Arabic and Devanagari on pictures; wget for KubeRay's probes.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libfribidi0 wget \
    && rm -rf /var/lib/apt/lists/*

RUN useradd --create-home --uid 1000 runner
WORKDIR /home/runner/photo-finish
# Besides requirements.txt; requirements-cluster.txt: for a Ray cluster.
ARG REQUIREMENTS=requirements.txt
# An index beside PyPI, which pip reads from its environment: PyTorch's CPU build is a sixth of the one with CUDA.
ARG PIP_EXTRA_INDEX_URL=
COPY requirements.txt requirements-cluster.txt constraints.txt hashes.txt ./
COPY tools tools
RUN pip install --no-cache-dir --only-binary :all: --report /tmp/installed.json \
        --requirement requirements.txt --requirement "$REQUIREMENTS" --constraint constraints.txt \
    && python tools/packages.py /tmp/installed.json && rm /tmp/installed.json
COPY app.py ./
COPY app app
COPY cluster cluster
COPY engine engine
COPY photo_finish photo_finish
COPY static static
COPY visualize visualize
COPY weights weights

# The code stays root's: the page writes only to the cache of weights and to /tmp.
RUN install --directory --owner=runner --group=runner /home/runner/.cache /home/runner/.cache/huggingface
USER runner
ENV GRADIO_SERVER_NAME=0.0.0.0 GRADIO_SERVER_PORT=7860 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
EXPOSE 7860
# Of the page itself, by no proxy that HTTP_PROXY names.
HEALTHCHECK --interval=30s --timeout=10s --start-period=120s \
    CMD ["python", "-c", "import os, urllib.request as r; r.build_opener(r.ProxyHandler({})).open('http://{GRADIO_SERVER_NAME}:{GRADIO_SERVER_PORT}/'.format(**os.environ), timeout=8)"]
CMD ["python", "app.py"]
