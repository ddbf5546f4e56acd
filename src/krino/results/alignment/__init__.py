"""What `krino align` decides: which labels it learns from, which changes it proposes, and whether one is kept."""
