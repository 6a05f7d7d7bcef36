"""Speed: ours and the peers in one run, as ratios."""
