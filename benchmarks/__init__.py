"""What the project claims of its own speed, measured on demand; nothing here is imported by the product."""
