"""`python -m app`: the same page as `python app.py`."""

from app.models.model_pool import default_pool
from app.page.launch import serve
from app.page.layout import build


def main() -> None:
    pool = default_pool()
    serve(build(pool), pool)


if __name__ == "__main__":
    main()
