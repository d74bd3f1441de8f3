"""What a person sees: the Textual app. No file, no socket, no protocol rule."""
