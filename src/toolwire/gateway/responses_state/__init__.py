"""The state behind `previous_response_id`: connections and stores that remember responses."""
