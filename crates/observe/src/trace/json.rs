//! Traces as JSON lines.
