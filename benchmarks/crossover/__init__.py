"""How good the crossover estimator is (`make eval`): simulated sweeps with a truth, measured ones, and its speed."""
