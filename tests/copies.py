"""Copies of prepared work trees, each as if it were the tree that was prepared."""

import shutil
from pathlib import Path


def copy_tree(source: Path, target: Path) -> None:
    """Copy a work tree with its log, and preserve the identity of the original."""
    shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    forget_trees(target)


def forget_trees(target: Path) -> None:
    """Remove the marks of a copied work tree, so that its log continues in it."""
    for file in target.rglob("sprintlog-tree"):
        file.unlink()
    for known in [*target.rglob(".sprintlog/trees"), *target.rglob("sprintlog/trees")]:
        shutil.rmtree(known)
