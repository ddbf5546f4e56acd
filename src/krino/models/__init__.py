"""Small models that come with the package and run without a network."""
