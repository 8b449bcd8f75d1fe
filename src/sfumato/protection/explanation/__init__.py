"""Why a plan is not finer, column by column."""
