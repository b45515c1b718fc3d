"""An app of Flower in which sites run a study of tacit."""
