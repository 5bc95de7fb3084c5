"""`python -m app`: the same page as `python app.py`."""

from app.page.launch import serve
from app.page.layout import build
from app.serving.model_pool import default_pool


def main() -> None:
    pool = default_pool()
    serve(build(pool), pool)


if __name__ == "__main__":
    main()
