"""The default embedder: all-MiniLM-L6-v2, run by onnxruntime."""
