"""The live page, which exposes the service and the views over HTTP."""
