"""Commands for extensions, and test kits for extension authors."""
