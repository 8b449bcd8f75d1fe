"""FF-anonymity: what can be observed of a person does not tell what cannot."""
