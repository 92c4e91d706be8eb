"""What pages show: read models as frozen dataclasses for one viewer. Reads only; nothing here writes."""
