"""Background mode of OpenAI Responses: answers that are polled, resumed and cancelled."""
