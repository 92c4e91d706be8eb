"""What all judging has in common: who judges by which link, the log of what they say, everybody's labels."""
