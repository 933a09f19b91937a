"""Token ids -> sentence embeddings: encoders as ONNX graphs, run by onnxruntime without torch."""
