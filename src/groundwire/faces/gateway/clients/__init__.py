"""What single clients need: Codex, Claude Code, and the rendering of citations by User-Agent."""
