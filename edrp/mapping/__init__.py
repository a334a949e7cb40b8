"""What mapping problems are to methods: arrays, costs, draws, and which resource is short."""
