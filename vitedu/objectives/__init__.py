"""What a model can learn without labels: losses and the parts they need."""
