"""The transcripts that agents keep, read as hooks would have told of them."""
