"""Beta-likeness."""
