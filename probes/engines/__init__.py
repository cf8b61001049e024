"""What vLLM and SGLang write on their metrics pages, read into one vocabulary; never opens a connection."""
