//! Reinforcement learning, pure: numbers in, numbers out, no tensors, no I/O.
//!
//! Two stages. [`credit`] turns the rewards and durations of a group into one weight per sample. [`loss`] turns
//! log-probabilities and weights into a loss and its gradient with respect to each log-probability; the model's
//! backward pass takes it from there. So the trainer never asks why a weight is what it is, and the loss never sees
//! a reward. [`optim`] applies the gradient, [`mismatch`] compares sampler and trainer.

pub mod credit;
pub mod loss;
pub mod mismatch;
pub mod optim;
