"""The request and reply formats of the endpoints: OpenAI, Anthropic and Ollama."""
