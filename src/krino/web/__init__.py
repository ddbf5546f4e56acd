"""The workbench: runs, cases, labels and judging in a browser and over HTTP (`krino serve`, extra `krino[web]`)."""
