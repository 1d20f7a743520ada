"""The Feedwatch tab: a TensorBoard dynamic plugin that shows reports and never writes."""
