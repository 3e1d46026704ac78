"""From a question to candidate programs: schema linking, candidates, and the ranker that chooses between them."""
