"""One smoke-test job from the submitter's side: request, state, log, result, and how a person sees them."""
