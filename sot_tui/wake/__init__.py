"""Reading a row's screen and deciding what may be typed into it. No file, no socket, no clock of its own."""
