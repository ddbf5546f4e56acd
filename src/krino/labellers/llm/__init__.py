"""Labels from an LLM over HTTP: one call a case, the reply checked, the pace kept, the money counted."""
