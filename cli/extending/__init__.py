"""Commands for extensions, and test kits for their authors."""
