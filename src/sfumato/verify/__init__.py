"""What every judge stands on: its own readers, trees and tallies. It shares no code with the rest."""
