"""Labels that judges send in place of boards: their checks, the boards they make, how they agree."""
