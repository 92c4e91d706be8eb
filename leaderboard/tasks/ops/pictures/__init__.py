"""Pictures of tasks: checked, prepared and stored."""
