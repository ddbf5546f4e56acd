"""Ready judges, one Markdown file each: `krino judges` lists them, `krino new NAME --from JUDGE` copies one."""
