"""The basis of all features: policy, actions, jobs, audit log and displayed names."""
