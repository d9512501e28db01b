"""The live page: one more way into the service and the views, over HTTP."""
