"""Many people: everybody's taste is normal about a population's, whose mean and covariance are learned."""
