"""Where the folders of the checkout lie once installed: in photo_finish/. The rest is in
pyproject.toml."""

from setuptools import find_namespace_packages, setup

FOLDERS = ("app", "cluster", "engine", "static", "tools", "visualize", "weights")

found = [
    f"{folder}.{below}"
    for folder in FOLDERS
    for below in find_namespace_packages(folder, exclude=["*__pycache__"])
]
setup(
    package_dir={f"photo_finish.{folder}": folder for folder in FOLDERS},
    packages=["photo_finish", *(f"photo_finish.{name}" for name in (*FOLDERS, *found))],
    package_data={"": ["*"]},
)
