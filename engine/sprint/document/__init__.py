"""Documents as others have them: fields, patches, shapes, and edits that become events."""
