"""Installs the folders of the checkout in photo_finish/; pyproject.toml says all else."""

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
